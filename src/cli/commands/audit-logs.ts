import { type Command, requireText } from '../command.ts'
import { asAdministrator } from '../connection/connection.ts'
import { sheet, table } from '../output.ts'
import { parseLogNames } from './log-names.ts'

interface ListedLog {
  readonly log: number
  readonly origin: string
  readonly beganAt: string
  readonly closedAt: string | null
  readonly size: number
  readonly signedSize: number
  readonly signedAt: string | null
  readonly refusal: string | null
}

interface Succession {
  readonly log: number
  readonly origin: string
}

/** Commands that show the audit logs and start a new one after a restore. */
export const auditLogCommands: readonly Command[] = [
  {
    words: 'audit logs',
    summary: 'lists the audit logs: entries, signed entries, and why signing has stopped',
    example: 'pinfold audit logs',
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const logs = parseLogNames<ListedLog>(await ask<unknown>('GET', '/audit/logs'))
        const rows = logs.map(({ closedAt, origin, refusal, signedAt, signedSize, size }) => [
          origin,
          size,
          signedSize,
          signedAt,
          closedAt === null ? (refusal ?? 'in use') : `closed at ${closedAt}`,
        ])
        const heads = ['log', 'entries', 'signed', 'signed at', 'state']
        return { json: logs, text: table(heads, rows) }
      }),
  },
  {
    words: 'audit succeed',
    summary: 'begins the successor of a log that must no longer be signed',
    description:
      'For a database that was restored from a backup, or after a failover to a lagging ' +
      'standby, once the cause is known. The\nfirst entry of the successor is the newest known ' +
      'checkpoint of the previous log, with the reason.',
    options: {
      reason: { type: 'string', value: 'TEXT', help: 'what happened, for the auditors of the log' },
    },
    example: "pinfold audit succeed --reason 'Restored from the backup of 3 May, 02:00'",
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const reason = requireText(call, 'reason')
        const begun = await ask<Succession>('POST', '/audit/successor', { reason })
        return { json: begun, text: sheet({ log: begun.log, origin: begun.origin }) }
      }),
  },
]
