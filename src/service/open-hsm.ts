import { join } from 'node:path'
import type { Config } from '../config.ts'
import { StartRefusal } from '../errors.ts'
import type { Hsm } from '../hsm/hsm.ts'
import type { KeyAdministration } from '../hsm/key-administration.ts'
import { readMasterKeys, readOrMakeMasterKeys } from '../hsm/master-key-file.ts'
import { type MasterKeys, masterKeyCheckValue, openMasterKeys } from '../hsm/master-keys.ts'
import type { SecretKey } from '../hsm/secret-key.ts'
import { openSoftwareHsm } from '../hsm/software-hsm.ts'
import { keyTimings } from '../key-management/key-timings.ts'
import { seededDigits } from '../sandbox/seeded-digits.ts'
import type { Database } from '../storage/database.ts'
import { insertHsmKey, listHsmKeys } from '../storage/hsm-keys.ts'
import {
  findMasterKeyCheckValue,
  holdInstallation,
  type Installation,
  rememberInstallation,
} from '../storage/installation.ts'

/**
 * Opens the software HSM on the keys of this installation.
 * @throws `StartRefusal` when the database belongs to an installation of another kind or master key.
 */
export async function openHsm(
  config: Config,
  database: Database,
): Promise<Hsm & KeyAdministration> {
  const masterKey = await openInstallation(config, database)
  return openSoftwareHsm({
    masterKey,
    staleAfterMs: keyTimings(config.keyRefreshMs).staleAfterMs,
    ...(config.sandboxSeed !== null && { drawDigits: seededDigits(config.sandboxSeed) }),
    keyStore: {
      list: () => listHsmKeys(database),
      add: (key) =>
        database.transaction(async (connection) => {
          const checkValue = await holdInstallation(connection)
          // Wrapped before the master key was rotated: the next start makes it again.
          if (checkValue !== masterKey.currentCheckValue()) throw new Error(rotatedMeanwhile)
          await insertHsmKey(connection, key)
        }),
    },
  })
}

const rotatedMeanwhile = 'The master key was rotated while keys were made: start again.'

/** The master keys, of which the database knows the current one. */
async function openInstallation(config: Config, database: Database): Promise<MasterKeys> {
  const { dataDir, masterKeyFile } = config
  const read = () =>
    masterKeyFile === null
      ? readOrMakeMasterKeys(join(dataDir, 'master.key'))
      : readMasterKeys(masterKeyFile)
  const installation: Installation = {
    kind: config.sandbox ? 'sandbox' : 'production',
    masterKeyCheckValue: newestCheckValue(await read()),
  }
  const remembered = await rememberInstallation(database, installation)
  if (remembered.kind !== installation.kind) {
    throw new StartRefusal(
      `This database is a ${remembered.kind}'s, and this program runs as ${installation.kind}.`,
    )
  }
  return openMasterKeys({ read, current: () => findMasterKeyCheckValue(database) })
}

/** The last line of the file is the newest key: a new installation begins under it. */
function newestCheckValue(masterKeys: readonly SecretKey[]): string {
  const newest = masterKeys.at(-1)
  if (!newest) throw new Error('There is no master key.')
  return masterKeyCheckValue(newest)
}
