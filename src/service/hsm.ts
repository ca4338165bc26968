import { join } from 'node:path'
import { StartRefusal } from '../domain/problem.ts'
import type { Hsm } from '../hsm/contract/hsm.ts'
import type { KeyAdministration } from '../hsm/contract/key-administration.ts'
import { KeyRefusal, type KeyStore } from '../hsm/contract/stored-keys.ts'
import { openToken } from '../hsm/pkcs11/client.ts'
import { openPkcs11Hsm } from '../hsm/pkcs11/hsm.ts'
import { openSoftwareHsm } from '../hsm/software/hsm.ts'
import {
  type MasterKeys,
  masterKeyCheckValue,
  openMasterKeys,
  readMasterKeys,
  readOrMakeMasterKeys,
} from '../hsm/software/master-keys.ts'
import { recordKeyAct } from '../operations/acts/acts.ts'
import { composeReference, keyTimings } from '../operations/keys/keys.ts'
import { seededDigits } from '../sandbox/clock.ts'
import type { Database } from '../storage/engine/database.ts'
import {
  findMasterKeyCheckValue,
  lockInstallation,
  rememberInstallation,
} from '../storage/engine/installation.ts'
import { insertHsmKey, listHsmKeys } from '../storage/keys/hsm-keys.ts'
import type { Config } from './config/config.ts'
import type { Pkcs11Config } from './config/variables.ts'
import { refuseOtherKind, selectInstallationKind } from './database.ts'

/**
 * Opens the configured HSM with the keys of this installation.
 * @throws `StartRefusal` when the database belongs to an installation of another kind, master key
 *   or token, or when the master key, the token or a stored key cannot be used.
 */
export const openHsm = (config: Config, database: Database): Promise<Hsm & KeyAdministration> =>
  (config.pkcs11 === null
    ? openOnMasterKeys(config, database)
    : openOnToken(config, config.pkcs11, database)
  ).catch((cause: unknown) => {
    // An operator can repair a fault of a key.
    throw cause instanceof KeyRefusal ? new StartRefusal(cause.message, { cause }) : cause
  })

async function openOnMasterKeys(config: Config, database: Database) {
  const masterKey = await openInstallation(config, database).catch((cause: unknown) => {
    if (!(cause instanceof KeyRefusal)) throw cause
    throw new StartRefusal(`MASTER_KEY_FILE: ${cause.message}`, { cause })
  })
  const keyStore = createKeyStore(database, () => masterKey.currentCheckValue())
  return openSoftwareHsm({ masterKey, keyStore, ...createOptions(config) })
}

async function openOnToken(config: Config, settings: Pkcs11Config, database: Database) {
  const token = await openToken(settings).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : ''
    throw new StartRefusal(`The PKCS#11 token cannot be used: ${reason}`)
  })
  const [ours = ''] = token.checkValues
  const due = await rememberOurs(config, database, ours)
  if (!token.checkValues.includes(due)) {
    token.close()
    throw new StartRefusal(
      `The database uses keys with check value ${due}, but the token has ` +
        `${token.checkValues.join(', ')}.`,
    )
  }
  return openPkcs11Hsm({
    token,
    keyStore: createKeyStore(database, () => due),
    ...createOptions(config),
  })
}

const createOptions = ({ databaseUrl, keyRefreshMs, sandboxSeed }: Config) => ({
  // No other program changes the keys of an embedded database, so they never become stale.
  staleAfterMs:
    databaseUrl === null ? Number.POSITIVE_INFINITY : keyTimings(keyRefreshMs).staleAfterMs,
  ...(sandboxSeed !== null && { drawDigits: seededDigits(sandboxSeed) }),
})

const createKeyStore = (database: Database, currentCheckValue: () => string): KeyStore => ({
  list: () => listHsmKeys(database),
  add: (key) =>
    database.transaction(async (connection) => {
      const checkValue = await lockInstallation(connection)
      if (checkValue !== currentCheckValue()) {
        // Wrapped before the master key was rotated: the next start makes it again.
        throw new Error('The master key was rotated while keys were generated: start again.')
      }
      if (!(await insertHsmKey(connection, key))) return
      const reference = composeReference(key.keyName, key.keyVersion)
      await recordKeyAct(connection, { act: 'generated', key: reference })
    }),
})

/** Opens the master keys; the database stores which one is current. */
async function openInstallation(config: Config, database: Database): Promise<MasterKeys> {
  const { dataDir, masterKeyFile } = config
  const read = () =>
    masterKeyFile === null
      ? readOrMakeMasterKeys(join(dataDir, 'master.key'))
      : readMasterKeys(masterKeyFile)
  // The file's last line is the newest key, which a new installation uses.
  const newest = (await read()).at(-1)
  if (!newest) throw new KeyRefusal('The key has no version.')
  await rememberOurs(config, database, masterKeyCheckValue(newest))
  return openMasterKeys({ read, current: () => findMasterKeyCheckValue(database) })
}

/** @returns the check value in the database, or our own if the database is new. */
async function rememberOurs(
  config: Config,
  database: Database,
  masterKeyCheckValue: string,
): Promise<string> {
  const kind = selectInstallationKind(config)
  const remembered = await rememberInstallation(database, { kind, masterKeyCheckValue })
  refuseOtherKind(config, remembered.kind)
  return remembered.masterKeyCheckValue
}
