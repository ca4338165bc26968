import * as cli from '../command.ts'
import { asClient } from '../connection/connection.ts'
import { sheet } from '../output.ts'

interface RenewalJob {
  readonly jobId: string
  readonly refused: Readonly<Record<string, number>>
}

/** Renewals of many cards, as a client system. */
export const renewalJobCommands: readonly cli.Command[] = [
  {
    words: 'renewals start',
    names: ['PRODUCT', 'DAY'],
    namePointers: { '/productId': 'PRODUCT', '/expiringBefore': 'DAY' },
    summary: 'renews the cards of a product that expire before a day',
    description: 'DAY is such as 2026-12-31. The work is done in the background: renewals show.',
    options: {
      'dry-run': {
        type: 'boolean',
        help: 'counts what would be ordered, and orders nothing',
        pointer: '/dryRun',
      },
    },
    connection: cli.clientConnection,
    example: 'pinfold renewals start 1001 2026-12-31 --dry-run',
    run: (call) => {
      const [product = '', expiringBefore = ''] = call.names
      const dryRun = call.options['dry-run'] === true
      const body = { productId: Number(product), expiringBefore, dryRun }
      return asClient(call, async ({ ask, base }) =>
        describeJob(await ask<RenewalJob>('POST', `${base}/renewals`, body)),
      )
    },
  },
  {
    words: 'renewals show',
    names: ['JOB'],
    summary: 'shows how many cards a renewal found, ordered and refused',
    connection: cli.clientConnection,
    example: 'pinfold renewals show 0b6f1f5e-3c0e-4a55-9d36-2f5f0a9c7d11',
    run: (call) => {
      const [jobId = ''] = call.names
      const path = `/renewals/${encodeURIComponent(jobId)}`
      return asClient(call, async ({ ask, base }) =>
        describeJob(await ask<RenewalJob>('GET', base + path)),
      )
    },
  },
]

function describeJob(job: RenewalJob): cli.Outcome {
  const refused = Object.entries(job.refused).map(([code, count]) => `${code} ${count}`)
  return { json: job, text: sheet({ ...job, refused: refused.join(', ') || 'none' }) }
}
