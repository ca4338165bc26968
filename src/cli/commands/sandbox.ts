import * as cli from '../command.ts'
import { asAdministrator } from '../connection/connection.ts'
import { line, sheet, table } from '../output.ts'

/** A snapshot of the sandbox. */
interface Snapshot {
  readonly snapshotName: string
  readonly takenAt: string
  readonly clock: string | null
  readonly rows: number
}

const path = '/sandbox/snapshots'

const pathOf = ({ names: [name = ''] }: cli.Call): string => `${path}/${encodeURIComponent(name)}`

/** Snapshots of the sandbox: a test suite starts each case from the same state. */
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
]
