import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import { type FirstAdministrator, parseFirstAdministrators } from '../oauth/first-administrators.ts'
import { findClient, upsertClient } from '../storage/clients.ts'
import type { Database } from '../storage/database.ts'

/**
 * Registers the first administrators, who prove themselves by their private keys alone (RFC 7523). No other
 * administrator is asked: that one has another key than before is told in the log.
 */
export async function registerAdministrators(
  database: Database,
  jwkFile: string,
  log: Logger,
): Promise<void> {
  for (const { clientId, jwks } of await readAdministrators(jwkFile)) {
    const registered = await findClient(database, clientId)
    if (registered && registered.jwks !== jwks) {
      log.warn({ clientId }, 'the first administrator has another key, from ADMIN_JWK_FILE')
    }
    await upsertClient(database, {
      clientId,
      clientName: 'First administrator',
      kind: 'admin',
      scopes: ['admin'],
      secretHash: null,
      jwks,
    })
  }
}

/** @throws Error that names the file, never its content. */
async function readAdministrators(jwkFile: string): Promise<readonly FirstAdministrator[]> {
  try {
    return parseFirstAdministrators(JSON.parse(await readFile(jwkFile, 'utf8')))
  } catch (error) {
    const message = `${jwkFile} must hold the public JWK of the first administrator, or a set of several.`
    // Of what is no JSON the parser quotes some: it may be the file of another secret.
    throw error instanceof SyntaxError ? new Error(message) : new Error(message, { cause: error })
  }
}
