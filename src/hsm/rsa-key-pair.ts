import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('rsa-key-process.ts', import.meta.url))

/**
 * Makes an RSA key of 4096 bits: PKCS#8 in DER. It takes seconds, which are spent in another process
 * of lower priority; that one ends with this one at the latest.
 *
 * @param signal ends it before it is done.
 */
export async function generateRsaKey(signal?: AbortSignal): Promise<Buffer> {
  const child = spawn(process.execPath, [program], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {},
    killSignal: 'SIGKILL',
    ...(signal && { signal }),
  })
  if (child.pid !== undefined) lowerPriority(child.pid)
  const [bytes, [code]] = await Promise.all([buffer(child.stdout), once(child, 'close')])
  if (code !== 0 || bytes.length === 0) throw new Error('No RSA key was made.')
  return bytes
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // It may have ended, or the machine forbids it: then it works at ours.
  }
}
