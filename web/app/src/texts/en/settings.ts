// What the settings and figures say before their room is there. What only the room says is in settings-room.ts.

export const settings = {
  title: 'Settings',
  notANumber: (min: number, max: number) => `not a number from ${min} to ${max}`,
  notOneOf: (choices: readonly string[]) => `not one of ${choices.join(', ')}`,
  notStops: 'not a list of stop texts',
};
