// The state that react-admin's components share, separate for each operator and site.

import { localStorageStore, memoryStore, type Store } from "react-admin";

/** Keys of the state that the browser keeps for an operator, for all sites together. */
const ofOperator = new Set(["theme", "sidebar.open"]);
/** Matches the keys for hidden columns of a table. The browser keeps them for an operator and a site. */
const columnsKey = /\.datatable$/;

/**
 * Creates the state of an operator in a site. The browser keeps colours and columns. Everything else, such as selected records and the text of a
 * search, is in memory and ends with the page, so that another operator or another site begins without it.
 * @param operator ID of the operator
 * @param siteId ID of the site
 */
export function createSiteStore(operator: number, siteId: number): Store {
  const memory = memoryStore();
  const browser = localStorageStore("1", `:${operator}:`);
  const browserKeyOf = (key: string) => {
    if (ofOperator.has(key)) return key;
    return columnsKey.test(key) ? `${siteId}.${key}` : undefined;
  };
  const inStoreOf = <T>(key: string, act: (store: Store, name: string) => T): T => {
    const name = browserKeyOf(key);
    return name === undefined ? act(memory, key) : act(browser, name);
  };
  return {
    ...memory,
    setup() {
      memory.setup();
      browser.setup();
    },
    teardown() {
      memory.teardown();
      browser.teardown();
    },
    getItem: (key, byDefault) => inStoreOf(key, (store, name) => store.getItem(name, byDefault)),
    setItem: (key, value) => inStoreOf(key, (store, name) => store.setItem(name, value)),
    removeItem: (key) => inStoreOf(key, (store, name) => store.removeItem(name)),
    subscribe: (key, listener) => inStoreOf(key, (store, name) => store.subscribe(name, listener)),
  };
}
