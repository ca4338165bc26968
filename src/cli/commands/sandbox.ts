import * as cli from '../command.ts'
import { asAdministrator, asClient } from '../connection/connection.ts'
import { line, sheet, table } from '../output.ts'
import { formatOfflinePin } from './simulate.ts'

/** A snapshot of the sandbox. */
interface Snapshot {
  readonly snapshotName: string
  readonly takenAt: string
  readonly clock: string | null
  readonly rows: number
}

/** A PIN that a virtual chip compared. */
interface TriedPin {
  readonly offlinePin: string
  readonly remainingOfflineTries: number
}

const path = '/sandbox/snapshots'

const pathOf = ({ names: [name = ''] }: cli.Call): string => `${path}/${encodeURIComponent(name)}`

/**
 * Snapshots of the sandbox, so that a test suite starts each case from the same state, its clock,
 * and its virtual chips.
 */
export const sandboxCommands: readonly cli.Command[] = [
  {
    words: 'sandbox snapshot',
    names: ['NAME'],
    namePointers: { '/snapshotName': 'NAME' },
    summary: 'takes a snapshot of the sandbox, and replaces one of that name',
    example: 'pinfold sandbox snapshot before-each',
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const snapshot = await ask<Snapshot>('PUT', pathOf(call))
        return { json: snapshot, text: sheet(snapshot) }
      }),
  },
  {
    words: 'sandbox restore',
    names: ['NAME'],
    namePointers: { '/snapshotName': 'NAME' },
    summary: 'restores the sandbox to a snapshot',
    description:
      'Everything since the snapshot is undone, except the audit log, keys and people. Running ' +
      'calls\nend before; others wait until the sandbox is restored.',
    example: 'pinfold sandbox restore before-each',
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const snapshot = await ask<Snapshot>('POST', `${pathOf(call)}/restore`)
        return { json: snapshot, text: line`The sandbox is as it was at ${snapshot.takenAt}.` }
      }),
  },
  {
    words: 'sandbox list',
    summary: 'lists the snapshots of the sandbox, by name',
    options: cli.limitOption,
    example: 'pinfold sandbox list',
    run: (call) =>
      asAdministrator(call, async ({ readAll }) => {
        const snapshots = await readAll<Snapshot>(path, cli.parseLimit(call))
        const rows = snapshots.map(({ clock, rows: count, snapshotName, takenAt }) => [
          snapshotName,
          takenAt,
          clock ?? 'not moved',
          count,
        ])
        return { json: snapshots, text: table(['NAME', 'TAKEN', 'CLOCK', 'ROWS'], rows) }
      }),
  },
  {
    words: 'sandbox delete',
    names: ['NAME'],
    namePointers: { '/snapshotName': 'NAME' },
    summary: 'deletes a snapshot of the sandbox',
    example: 'pinfold sandbox delete before-each',
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const [snapshotName = ''] = call.names
        await ask('DELETE', pathOf(call))
        return { json: { snapshotName }, text: line`The snapshot ${snapshotName} is deleted.` }
      }),
  },
  {
    words: 'sandbox clock',
    names: ['[INSTANT]'],
    namePointers: { '/now': 'INSTANT' },
    summary: 'moves the clock of the sandbox forwards, and lets everything due happen',
    description: 'Without an instant, shows what the clock says.',
    example: 'pinfold sandbox clock 2031-06-01T00:00:00Z',
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const [instant] = call.names
        const clock = await (instant === undefined
          ? ask<{ now: string }>('GET', '/sandbox/clock')
          : ask<{ now: string }>('POST', '/sandbox/clock', { now: instant }))
        return { json: clock, text: line`The clock of the sandbox says ${clock.now}.` }
      }),
  },
  {
    words: 'sandbox chip',
    names: ['CARD'],
    namePointers: { '/publicToken': 'CARD' },
    summary: 'shows the virtual chip of a card, makes one, or types a PIN into it',
    description:
      'A new chip has the PIN that the card has then. pinfold simulate CARD --chip buys with it. ' +
      'The list of processes\nshows the PIN, so use test cards only.',
    options: {
      make: {
        type: 'boolean',
        help: 'makes a chip, which replaces the one before',
      },
      'offline-tries': {
        type: 'string',
        value: 'N',
        help: 'the limit of the PIN in the chip; by default that of the product',
        pointer: '/offlineTryLimit',
        needs: 'make',
      },
      'offline-pin': {
        type: 'string',
        value: 'DIGITS',
        help: 'a PIN that the chip compares, in a transaction that is not sent',
        pointer: '/pin',
      },
    },
    connection: cli.clientConnection,
    example: 'pinfold sandbox chip 4820117360 --make',
    run: (call) =>
      asClient(call, async ({ ask, base }) => {
        const [publicToken = ''] = call.names
        const chipPath = `${base}/simulator/cards/${encodeURIComponent(publicToken)}/chip`
        const pin = cli.findText(call, 'offline-pin')
        if (call.options.make === true) {
          const offlineTryLimit = cli.parseNumber(call, 'offline-tries')
          await ask('POST', chipPath, cli.given({ offlineTryLimit }))
        }
        if (pin !== undefined) {
          const tried = await ask<TriedPin>('POST', `${chipPath}/transactions`, { pin })
          return { json: tried, text: formatOfflinePin(tried) }
        }
        const chip = await ask<object>('GET', chipPath)
        return { json: chip, text: sheet(chip) }
      }),
  },
]
