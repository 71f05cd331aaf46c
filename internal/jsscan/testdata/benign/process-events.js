// Listens to events of process.
exports.createPlugin = () => {
  const onExit = (code) => console.error('exit', code);
  process.on('exit', onExit);
  process.once('SIGINT', () => process.exit(130));
  process.off('exit', onExit);
  process.emitWarning('old', { code: 'X1' });
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit());
};
