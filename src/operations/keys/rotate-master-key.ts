import type { Requester } from '../../domain/client.ts'
import { Problem, validationFailed } from '../../domain/problem.ts'
import { lockInstallation, setMasterKeyCheckValue } from '../../storage/engine/installation.ts'
import { keyBlockTables, listKeyBlocks, moveKeyBlock } from '../../storage/keys/key-blocks.ts'
import type { Answer, RepeatableRequest } from '../idempotency/idempotency.ts'
import { changeKeysOnce, type KeyContext } from './keys.ts'
import { refuseOtherMasterKey } from './store-key.ts'

/** A completed rotation of the master key. */
interface MasterKeyRotation {
  readonly before: string
  readonly after: string
  /** The number of key blocks that were wrapped under the new key. */
  readonly keyBlocks: number
}

/**
 * Wraps every key block under another master key of the file, in one transaction. The other
 * processes follow at their next read; one whose file lacks the new key refuses to answer until it
 * has it.
 * @throws `Problem` `validation_failed` unless the file has exactly one other key, or the key is
 *   named; `key_refused` if the file is invalid, or the keys are under no master key of this
 *   service.
 */
export async function rotateMasterKey(
  keys: KeyContext,
  operator: Requester,
  toCheckValue: string | null,
  request: RepeatableRequest | null,
): Promise<Answer<MasterKeyRotation>> {
  const { masterKeys } = keys.hsm.custody
  if (!masterKeys) {
    const detail = 'The keys are in a token, whose own tools rotate its keys.'
    throw new Problem('key_refused', { detail })
  }
  const { current, present } = await masterKeys.read()
  const answer = await changeKeysOnce(keys, request, async ({ connection, record }) => {
    const before = await lockInstallation(connection)
    refuseOtherMasterKey(keys, before)
    const after = chooseMasterKey(current, present, toCheckValue)
    if (before === after) {
      const detail = `${after} is current already. List the keys; nothing is left to rotate.`
      throw new Problem('key_in_use', { detail })
    }
    await setMasterKeyCheckValue(connection, after)
    await record({ act: `rotated from ${before}`, key: `master-key ${after}`, ...operator })
    let keyBlocks = 0
    for (const table of keyBlockTables) {
      for (const { keyBlock, purpose } of await listKeyBlocks(connection, table)) {
        const rewrapped = await masterKeys.rewrap(keyBlock, purpose, after)
        keyBlocks += await moveKeyBlock(connection, table, keyBlock, rewrapped)
      }
    }
    return { before, after, keyBlocks }
  })
  await keys.hsm.refreshKeys()
  return answer
}

function chooseMasterKey(
  current: string,
  present: readonly string[],
  toCheckValue: string | null,
): string {
  const others = present.filter((checkValue) => checkValue !== current)
  const chosen = toCheckValue === null && others.length === 1 ? others[0] : toCheckValue
  if (chosen && others.includes(chosen)) return chosen
  throw validationFailed({
    pointer: '/keyCheckValue',
    detail:
      others.length === 0
        ? 'needs a new master key: add it to the file of every process, on a separate line'
        : `must be one of ${others.join(', ')}`,
  })
}
