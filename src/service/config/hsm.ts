/** A PKCS#11 token, in which the keys lie. */
export interface Pkcs11Config {
  /** The vendor's shared library. */
  readonly module: string
  readonly tokenLabel: string
  /** The file of the token's PIN: a variable would show it to whoever lists processes. */
  readonly pinFile: string
}

interface VariableReader {
  readonly faults: string[]
  text(name: string): string | null
  oneOf<Value extends string>(name: string, values: readonly Value[], otherwise: Value): Value
}

/** Reads which HSM is used. Null: the software one. What is wrong goes to the reader's faults. */
export function readPkcs11(read: VariableReader): Pkcs11Config | null {
  if (read.oneOf('HSM', ['software', 'pkcs11'], 'software') === 'software') return null
  const required = (name: string, what: string): string => {
    const text = read.text(name)
    if (text === null) read.faults.push(`${name} must go with HSM=pkcs11: ${what}.`)
    return text ?? ''
  }
  return {
    module: required('PKCS11_MODULE', "the path of the token's shared library"),
    tokenLabel: required('PKCS11_TOKEN_LABEL', 'the label of the token'),
    pinFile: required('PKCS11_PIN_FILE', "the file of the token's PIN, mode 0600"),
  }
}
