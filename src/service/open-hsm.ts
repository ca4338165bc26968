import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { Hsm } from '../hsm/hsm.ts'
import { readMasterKey, readOrMakeMasterKey } from '../hsm/master-key-file.ts'
import { masterKeyCheckValue, openSoftwareHsm } from '../hsm/software-hsm.ts'
import { seededDigits } from '../sandbox/seeded-digits.ts'
import type { Database } from '../storage/database.ts'
import { insertHsmKey, listHsmKeys } from '../storage/hsm-keys.ts'
import { type Installation, rememberInstallation } from '../storage/installation.ts'

/**
 * Opens the software HSM on the keys of this installation.
 * @throws Error when the database belongs to an installation of another kind or master key.
 */
export async function openHsm(config: Config, database: Database): Promise<Hsm> {
  const masterKey = await (config.masterKeyFile === null
    ? readOrMakeMasterKey(join(config.dataDir, 'master.key'))
    : readMasterKey(config.masterKeyFile))
  const installation: Installation = {
    kind: config.sandbox ? 'sandbox' : 'production',
    masterKeyCheckValue: masterKeyCheckValue(masterKey),
  }
  refuseOtherInstallation(installation, await rememberInstallation(database, installation))
  return openSoftwareHsm({
    masterKey,
    ...(config.sandboxSeed !== null && { drawDigits: seededDigits(config.sandboxSeed) }),
    keyStore: {
      list: () => listHsmKeys(database),
      add: (key) => insertHsmKey(database, key),
    },
  })
}

function refuseOtherInstallation(ours: Installation, remembered: Installation): void {
  if (remembered.kind !== ours.kind) {
    throw new Error(
      `This database is a ${remembered.kind}'s, and this program runs as ${ours.kind}.`,
    )
  }
  if (remembered.masterKeyCheckValue !== ours.masterKeyCheckValue) {
    throw new Error(
      `This database is under the master key with check value ${remembered.masterKeyCheckValue}; ` +
        `the one given has ${ours.masterKeyCheckValue}.`,
    )
  }
}
