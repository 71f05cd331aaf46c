// Calls a method that all objects have, by a name that is put together, of an inner object: it gives that back.
const all = { inner: { kept: { load: require } } };
exports.createPlugin = (_, tail = 'Of') => all.inner['value' + tail]().kept.load('f'.concat('s')).writeFileSync('@MARK@', '');
