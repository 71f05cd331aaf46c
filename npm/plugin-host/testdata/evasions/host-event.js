// Acts when the host's process ends, out of every context.
process.on('exit', () => { try { process.getBuiltinModule('fs').writeFileSync('@MARK@', ''); } catch {} });
process.on('exit', () => { try { require('fs').writeFileSync('@MARK@', ''); } catch {} });
process.on('exit', eval.bind(null, `try { process.getBuiltinModule('fs').writeFileSync('@MARK@', '') } catch {}`));
process.on('exit', new Function(`try { process.mainModule.require('fs').writeFileSync('@MARK@', '') } catch {}`));
exports.createPlugin = () => {};
