import * as cli from '../command.ts'
import { asClient } from '../connection/connection.ts'
import { formatTries, line, sheet } from '../output.ts'
import { readSecret } from '../secret-input.ts'
import { parseToken } from './cards.ts'

const describeTries = (kind: string, { status, remainingTries }: TryStatus): string =>
  `The ${kind} is ${status.toLowerCase()}. Remaining tries: ${remainingTries}.`

interface TryStatus {
  readonly status: string
  readonly remainingTries: number
  readonly chipUpdate?: keyof typeof chipUpdates
  readonly remainingOfflineTries?: number
  readonly reportedAt?: string
}

/** The states of a change, in words. */
const chipUpdates = {
  none: 'no change of the PIN waits for the chip or ended in it',
  pending: 'the next online transaction of the chip carries the change',
  sent: 'an answer carried the change; its result is not known yet',
  done: 'the chip has the change',
  failed: 'the chip refused the change',
  unconfirmed: 'no result came after ten answers; the chip may have the change',
} as const

/** Describes the PIN in the chip. A card without a chip has no lines. */
function describeChip(status: TryStatus): readonly string[] {
  const { chipUpdate, remainingOfflineTries, reportedAt } = status
  return [
    ...(chipUpdate === undefined
      ? []
      : [line`PIN in the chip: ${chipUpdate} (${chipUpdates[chipUpdate]}).`]),
    ...(remainingOfflineTries === undefined
      ? []
      : [line`The chip reported ${formatTries(remainingOfflineTries)} at ${reportedAt}.`]),
  ]
}

/** PINs and CVVs of cards, as a client system. */
export const pinCommands: readonly cli.Command[] = [
  {
    words: 'pins set',
    names: ['CARD'],
    summary: 'sets the PIN of a card; it restores no tries',
    description: 'The PIN is read from the terminal without echo, or from standard input.',
    connection: cli.clientConnection,
    example: 'pinfold pins set 4820117360',
    run: (call) => {
      const publicToken = parseToken(call)
      return asClient(call, async ({ ask, base }) => {
        const pin = await readSecret('PIN')
        if (pin === '') {
          throw new cli.UsageError('No PIN on standard input: type it, or pipe it to the command.')
        }
        await ask('POST', `${base}/card-pin/${publicToken}/pin`, { pin })
        return { json: { publicToken }, text: `The PIN of card ${publicToken} is set.` }
      })
    },
  },
  {
    words: 'pins show',
    names: ['CARD'],
    summary: 'prints the PIN of a card; the disclosure is recorded and limited',
    connection: cli.clientConnection,
    example: 'pinfold pins show 4820117360',
    run: (call) => {
      const publicToken = parseToken(call)
      return asClient(call, async ({ ask, base }) => {
        const json = await ask<object>('GET', `${base}/card-pin/${publicToken}/pin`)
        return { json, text: sheet(json) }
      })
    },
  },
  {
    words: 'pins status',
    names: ['CARD'],
    summary: 'the status of a PIN and its remaining tries',
    connection: cli.clientConnection,
    example: 'pinfold pins status 4820117360',
    run: (call) => changePin(call, null),
  },
  {
    words: 'pins unblock',
    names: ['CARD'],
    summary: 'restores the tries of a PIN',
    connection: cli.clientConnection,
    example: 'pinfold pins unblock 4820117360',
    run: (call) => changePin(call, 'unblock'),
  },
]

export const cvvCommands: readonly cli.Command[] = [
  {
    words: 'cvvs status',
    names: ['CARD'],
    summary: 'the status of a CVV and its remaining tries',
    connection: cli.clientConnection,
    example: 'pinfold cvvs status 4820117360',
    run: (call) => changeCvv(call, null),
  },
  {
    words: 'cvvs block',
    names: ['CARD'],
    summary: 'blocks a CVV at once',
    connection: cli.clientConnection,
    example: 'pinfold cvvs block 4820117360',
    run: (call) => changeCvv(call, 'Blocked'),
  },
  {
    words: 'cvvs unblock',
    names: ['CARD'],
    summary: 'restores the tries of a CVV',
    connection: cli.clientConnection,
    example: 'pinfold cvvs unblock 4820117360',
    run: (call) => changeCvv(call, 'Unblocked'),
  },
]

/** Prints the result of a read after the change. */
function changePin(call: cli.Call, change: 'unblock' | null): Promise<cli.Outcome> {
  const publicToken = parseToken(call)
  return asClient(call, async ({ ask, base }) => {
    const path = `${base}/card-pin/${publicToken}/pin`
    if (change !== null) await ask('POST', `${path}/${change}`)
    const json = await ask<TryStatus>('GET', `${path}/status`)
    return { json, text: [describeTries('PIN', json), ...describeChip(json)].join('\n') }
  })
}

function changeCvv(call: cli.Call, status: 'Blocked' | 'Unblocked' | null): Promise<cli.Outcome> {
  const publicToken = parseToken(call)
  return asClient(call, async ({ ask, base }) => {
    const path = `${base}/card-cvv/${publicToken}/cvv/status`
    if (status !== null) await ask('PUT', path, { status })
    const json = await ask<TryStatus>('GET', path)
    return { json, text: describeTries('CVV', json) }
  })
}
