// Why a plugin was not loaded. The names and codes are the same as in 'hallmark plugin verify'.

class PluginError extends Error {
  /** @param {{plugin?: string, findings?: object[], hint?: string, cause?: unknown}} [about] */
  constructor(message, { plugin, findings = [], hint, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.plugin = plugin;
    this.findings = findings;
    this.hint = hint;
  }
}

// kind makes the class of one type of error; name and code are on the prototype, so that
// they are always there, no matter who makes one.
function kind(name, exitCode) {
  const type = class extends PluginError {};
  Object.defineProperty(type, 'name', { value: name[0].toUpperCase() + name.slice(1) });
  type.prototype.name = name;
  type.prototype.exitCode = exitCode;
  return type;
}

/** A hash, count or checksum does not match, or is missing. */
export const IntegrityError = kind('integrityError', 3);
/** A required signature is missing, or one that is there does not hold. */
export const SignatureError = kind('signatureError', 5);
/** An import, a native addon, a permission or a tier that is not allowed. */
export const PolicyError = kind('policyError', 4);
/** The manifest. */
export const ValidationError = kind('validationError', 2);
/** Nothing was decided. */
export const OperationError = kind('operationError', 1);

const byName = {
  __proto__: null,
  integrityError: IntegrityError,
  signatureError: SignatureError,
  policyError: PolicyError,
  validationError: ValidationError,
  operationError: OperationError,
};

/** errorOf makes the error of a type that hallmark names. */
export function errorOf(type, message, about) {
  return new (byName[type] ?? OperationError)(message, about);
}

export { PluginError };
