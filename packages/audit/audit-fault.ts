/**
 * The reasons why data is invalid or could not be verified:
 *
 * - `malformed`: it does not have the required form
 * - `wrong_signature`: a signature by a given key is invalid: the data was changed, or another key
 *   signed it
 * - `unverified`: it has no signature by a given key
 * - `not_included`: the entry is not in the signed tree
 * - `erased`: the receipt does not contain its text
 * - `unsupported`: this runtime cannot verify signatures of that kind
 * - `unreachable`: it could not be read
 * - `memory_lost`: these keys do not verify the stored checkpoint
 * - `another_log`: a successor has replaced the log, and its own export states the reason
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
