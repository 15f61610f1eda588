// Objects with private members, used through proxies: Vue's ref() and reactive() make one of all that they hold.

/**
 * Gives the object its class's methods and getters as its own, bound to it: a proxy of it then runs them on the object itself,
 * where the private members are. For the constructor of each class that users hold.
 */
export function bindMembers(object: object): void {
  const prototype = Object.getPrototypeOf(object) as object;
  for (const name of Reflect.ownKeys(prototype)) {
    if (name === 'constructor') continue;
    const { get, value } = Object.getOwnPropertyDescriptor(prototype, name) ?? {};
    const configurable = true; // otherwise a proxy may not give anything else in its place
    if (get !== undefined) {
      Object.defineProperty(object, name, { configurable, get: get.bind(object) as () => unknown });
    } else if (typeof value === 'function') {
      const bound: unknown = (value as () => unknown).bind(object);
      Object.defineProperty(object, name, { configurable, writable: true, value: bound });
    }
  }
}
