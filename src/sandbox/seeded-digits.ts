import { createHash } from 'node:crypto'

/** The greatest multiple of ten that a byte can be below: others would favour the low digits. */
const fairBytes = 250

/**
 * Digits that repeat from run to run for one seed. For tokens, PANs and PINs of a sandbox that wants
 * the same ones again; never for keys, secrets or nonces.
 */
export function seededDigits(seed: string): (count: number) => string {
  const stream = digitStream(seed)
  return (count) => Array.from({ length: count }, () => stream.next().value).join('')
}

function* digitStream(seed: string): Generator<number, never> {
  for (let block = 0; ; block += 1) {
    const bytes = createHash('sha256').update(`${seed}\n${block}`).digest()
    for (const byte of bytes) if (byte < fairBytes) yield byte % 10
  }
}
