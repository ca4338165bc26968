import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TokenSettings } from '../../src/hsm/pkcs11/session.ts'

/**
 * SoftHSM tokens for tests, in a folder of this process. `TEST_PKCS11=required` turns a missing
 * SoftHSM into an error.
 *
 * ```ts
 * const softHsm = openSoftHsm()
 * test('…', { skip: softHsm.leftOut }, async () => {
 *   const settings = await softHsm.createToken()
 * ```
 */

export type SoftHsm = {
  /** For `test(title, { skip: softHsm.leftOut }, …)`: `false`, or why there is no SoftHSM. */
  leftOut: string | false
  /** What a program needs in its environment to find the same tokens. */
  env: Readonly<Record<string, string>>
  /** A new token, by a label of its own unless one is given. */
  createToken: (label?: string) => Promise<TokenSettings>
  /** Takes every token away, as a cable that is pulled. */
  hideTokens: () => Promise<void>
  /** Brings them back, in place of those made meanwhile. */
  showTokens: () => Promise<void>
}

const modules = [
  '/usr/lib/softhsm/libsofthsm2.so',
  '/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so',
  '/usr/lib/aarch64-linux-gnu/softhsm/libsofthsm2.so',
  '/usr/lib64/pkcs11/libsofthsm2.so',
  '/opt/homebrew/lib/softhsm/libsofthsm2.so',
]
const userPin = '73910462'
const execute = promisify(execFile)

export const openSoftHsm = (): SoftHsm => {
  const module = modules.find((path) => existsSync(path))
  if (module === undefined) return without('SoftHSM2 is not installed')
  if (!hasPkcs11js()) return without('the package pkcs11js is not installed')
  // In memory where that can be had: SoftHSM2 syncs every object that it makes.
  const folder = mkdtempSync(join(tmpdir(), 'pinfold-softhsm-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const tokens = join(folder, 'tokens')
  const configuration = join(folder, 'softhsm2.conf')
  mkdirSync(tokens)
  writeFileSync(configuration, `directories.tokendir = ${tokens}\nlog.level = ERROR\n`)
  // What this process starts finds its tokens so.
  process.env.SOFTHSM2_CONF = configuration
  return {
    leftOut: false,
    env: { SOFTHSM2_CONF: configuration },
    createToken: (label) => createToken(module, folder, label),
    async hideTokens() {
      await rename(tokens, `${tokens}-away`)
    },
    async showTokens() {
      await rm(tokens, { recursive: true, force: true })
      await rename(`${tokens}-away`, tokens)
    },
  }
}

const createToken = async (
  module: string,
  folder: string,
  tokenLabel = `pinfold test ${randomBytes(4).toString('hex')}`,
): Promise<TokenSettings> => {
  const pinFile = join(folder, `${tokenLabel}.pin`)
  await writeFile(pinFile, `${userPin}\n`, { mode: 0o600 })
  await mkdir(join(folder, 'tokens'), { recursive: true })
  const pins = ['--so-pin', '18273645', '--pin', userPin]
  await execute('softhsm2-util', ['--init-token', '--free', '--label', tokenLabel, ...pins])
  return { module, tokenLabel, pinFile }
}

const hasPkcs11js = (): boolean => {
  try {
    createRequire(import.meta.url)('pkcs11js')
    return true
  } catch {
    return false
  }
}

const without = (reason: string): SoftHsm => {
  const leftOut = `PKCS#11 leg left out: ${reason}`
  if (process.env.TEST_PKCS11 === 'required') throw new Error(leftOut)
  const refuse = async (): Promise<never> => {
    throw new Error(leftOut)
  }
  return { leftOut, env: {}, createToken: refuse, hideTokens: refuse, showTokens: refuse }
}
