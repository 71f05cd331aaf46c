// Imports code in a data: URL that is put together.
exports.createPlugin = () => {
  const code = Buffer.from("import{writeFileSync as w}from'node:fs';w('@MARK@','')").toString('base64');
  return import('data:text/javascript;base64,' + code);
};
