/**
 * What is wrong with something that was to be verified:
 *
 * - `malformed`: it is not of the form that it must have
 * - `wrong_signature`: a signature by a key that was given is wrong: it was changed, or another
 *   signed it
 * - `unverified`: there is no signature by a key that was given
 * - `not_included`: the entry is not in the tree that was signed
 * - `erased`: the receipt does not hold the text that it is about
 * - `unsupported`: this runtime cannot verify signatures of that kind
 * - `unreachable`: it could not be read
 * - `memory_lost`: what was remembered is no checkpoint that these keys verify
 * - `another_log`: a successor has taken the log's place: its own export says why
 */
export type AuditFaultCode =
  | 'malformed'
  | 'wrong_signature'
  | 'unverified'
  | 'not_included'
  | 'erased'
  | 'unsupported'
  | 'unreachable'
  | 'memory_lost'
  | 'another_log'

/** The reason why data is invalid or could not be verified. */
export class AuditFault extends Error {
  readonly code: AuditFaultCode

  constructor(code: AuditFaultCode, detail: string, options?: ErrorOptions) {
    super(detail, options)
    this.name = 'AuditFault'
    this.code = code
  }
}
