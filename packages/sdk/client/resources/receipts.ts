import type { VerifierKey } from '../../../audit/notes.ts'
import { type VerifiedReceipt, verifyReceipt } from '../../../audit/receipt.ts'
import { CallFailed } from '../errors.ts'
import { pause } from '../transport/attempt.ts'
import { parseRetryAfter } from '../transport/content.ts'
import { type CallOptions, path, type Transport } from '../transport/transport.ts'

/** A receipt that was fetched and verified. */
export interface FetchedReceipt extends VerifiedReceipt {
  /**
   * The file to store: it can be verified again with the keys, without the service
   * (c2sp.org/tlog-proof).
   */
  readonly file: string
}

export interface ReceiptOptions extends CallOptions {
  /** The maximum wait until a checkpoint covers the entry; 30,000 unless given. */
  readonly patienceMs?: number | undefined
}

/** Usually a second or two. */
const usualPatienceMs = 30_000

/**
 * Fetches the receipt of an audit log entry as soon as a checkpoint covers it, and verifies it.
 * @throws CallFailed `timed_out` after the maximum wait; AuditFault when it is invalid
 */
export async function fetchReceipt(
  transport: Transport,
  entry: string,
  keys: readonly VerifierKey[],
  { patienceMs = usualPatienceMs, ...options }: ReceiptOptions = {},
): Promise<FetchedReceipt> {
  const end = performance.now() + patienceMs
  for (;;) {
    const { headers, status, text } = await transport.send({
      ...options,
      method: 'GET',
      path: path`/receipts/${entry}`,
      headers: { accept: 'text/plain' },
      isRepeatable: true,
    })
    if (status === 200) return { ...(await verifyReceipt(text, keys, entry)), file: text }
    const waitMs = (parseRetryAfter(headers) ?? 1) * 1_000
    if (performance.now() + waitMs > end) throw new CallFailed('timed_out')
    await pause(waitMs, options.signal)
  }
}
