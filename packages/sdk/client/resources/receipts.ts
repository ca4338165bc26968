import type { VerifierKey } from '../../../audit/notes.ts'
import { type VerifiedReceipt, verifyReceipt } from '../../../audit/receipt.ts'
import { CallFailed } from '../errors.ts'
import { pause } from '../transport/attempt.ts'
import { parseRetryAfter } from '../transport/content.ts'
import { type CallOptions, path, type Transport } from '../transport/transport.ts'

/** A receipt that was fetched and verified. */
export interface FetchedReceipt extends VerifiedReceipt {
  /**
   * What to keep: whoever has the keys verifies it again, without the service
   * (c2sp.org/tlog-proof).
   */
  readonly file: string
}

export interface ReceiptOptions extends CallOptions {
  /** How long it is waited for until the entry is under a checkpoint; 30,000 unless given. */
  readonly patienceMs?: number | undefined
}

/** A second or two is usual. */
const usualPatienceMs = 30_000

/**
 * Fetches the receipt of an entry of the audit log, as soon as the entry is under a checkpoint, and
 * verifies it.
 * @throws CallFailed `timed_out` where it is not in time; AuditFault where it is not right
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
