import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { processEnvironment, readCallerConfig } from '../../service/config/config.ts'
import { UsageError } from '../command.ts'

/** A person's access token, as stored between commands. */
interface PersonToken {
  readonly accessToken: string
  /** RFC 3339. */
  readonly expiresAt: string
}

const fileName = (): string =>
  join(resolve(processEnvironment().DATA_DIR || '.data'), 'person-token.json')

/** Stores a person's token for its owner only. @returns the file. */
export async function writePersonToken(token: PersonToken): Promise<string> {
  const file = fileName()
  const draft = `${file}.${process.pid}`
  await mkdir(join(file, '..'), { recursive: true })
  await writeFile(draft, `${JSON.stringify(token, null, 2)}\n`, { mode: 0o600 })
  await rename(draft, file)
  return file
}

/**
 * Returns a person's token: from the environment, or from the last sign-in on this machine.
 * @throws UsageError when there is no token, or only an expired one.
 */
export async function readPersonToken(): Promise<string> {
  const { addressSource, personToken } = readCallerConfig()
  if (personToken !== null) return personToken
  if (addressSource !== null) {
    throw new UsageError(
      `Your token is not sent to the address in ${addressSource}: set PINFOLD_URL and ` +
        'PINFOLD_PRIVATE_URL in the environment.',
    )
  }
  try {
    const kept: PersonToken = JSON.parse(await readFile(fileName(), 'utf8'))
    if (new Date(kept.expiresAt).getTime() > Date.now()) return kept.accessToken
  } catch {
    // An unreadable file counts as no token; the parser's message could quote malformed JSON.
  }
  throw new UsageError('You are not signed in, or your sign-in has expired. Run pinfold sign-in.')
}
