/**
 * Work that is done once for all that want it of the same `name` at the same time. Who asks after its end gets new work.
 * @param work resolves or rejects for all of them
 */
export function sharedByName<T>(work: (name: string) => Promise<T>): (name: string) => Promise<T> {
  const underWay = new Map<string, Promise<T>>();
  return (name) => {
    const found = underWay.get(name) ?? work(name).finally(() => underWay.delete(name));
    underWay.set(name, found);
    return found;
  };
}
