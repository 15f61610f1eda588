// stub until the store part has it
export async function askToPersist(): Promise<void> {}
