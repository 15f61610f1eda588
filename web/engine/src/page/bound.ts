// Makes objects with private members work behind proxies, such as those of Vue's ref() and reactive().

/**
 * Defines the class's methods and getters on the object itself, bound to it. Called through a proxy, they still run on the
 * object, which has the private members. Each public class calls this in its constructor.
 */
export function bindMembers(object: object): void {
  const prototype = Object.getPrototypeOf(object) as object;
  for (const name of Reflect.ownKeys(prototype)) {
    if (name === 'constructor') continue;
    const { get, value } = Object.getOwnPropertyDescriptor(prototype, name) ?? {};
    const configurable = true; // a proxy may return another value only for such a property
    if (get !== undefined) {
      Object.defineProperty(object, name, { configurable, get: get.bind(object) as () => unknown });
    } else if (typeof value === 'function') {
      const bound: unknown = (value as () => unknown).bind(object);
      Object.defineProperty(object, name, { configurable, writable: true, value: bound });
    }
  }
}
