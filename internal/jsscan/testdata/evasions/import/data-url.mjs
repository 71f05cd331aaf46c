// Imports code in a data: URL.
export const createPlugin = () =>
  import("data:text/javascript,import{writeFileSync as w}from'node:fs';w('@MARK@','')");
