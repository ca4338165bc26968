import * as cli from '../command.ts'
import { asAdministrator, asClient } from '../connection/connection.ts'
import { sheet, table } from '../output.ts'
import { parseToken } from './cards.ts'

interface Batch {
  readonly batchId: string
  /** RFC 3339, UTC. */
  readonly takenAt: string
  readonly acknowledgedAt: string | null
  readonly plasticCount: number
}

interface BatchPlastic {
  readonly publicToken: string
  readonly plasticNumber: number
  readonly reason: string
  readonly productId: number
  readonly maskedPan: string
  readonly expiryDate: string
  readonly deliveryStatus: string
}

/** The plastics that the bureau makes, with the scope `bureau.write`. */
export const bureauCommands: readonly cli.Command[] = [
  {
    words: 'bureau take',
    summary: 'takes the oldest ordered plastics into a batch',
    options: {
      most: {
        type: 'string',
        value: 'N',
        help: 'the greatest number of plastics, 1 to 500; by default 100',
        pointer: '/limit',
      },
    },
    example: 'pinfold bureau take --most 500',
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const body = cli.given({ limit: cli.parseNumber(call, 'most') })
        const batch = await ask<Batch | undefined>('POST', '/bureau/batches', body)
        if (!batch) return { json: null, text: 'No plastic is ordered.' }
        return { json: batch, text: sheet(batch) }
      }),
  },
  {
    words: 'bureau batches',
    summary: 'lists the batches that this client took, newest first',
    options: {
      unacknowledged: {
        type: 'boolean',
        help: 'only those that are not acknowledged',
        pointer: '/acknowledged',
      },
      ...cli.limitOption,
    },
    example: 'pinfold bureau batches --unacknowledged',
    run: (call) =>
      asAdministrator(call, async ({ readAll }) => {
        const query = call.options.unacknowledged === true ? '?acknowledged=false' : ''
        const batches = await readAll<Batch>(`/bureau/batches${query}`, cli.parseLimit(call))
        return {
          json: batches,
          text: table(
            ['BATCH', 'TAKEN', 'ACKNOWLEDGED', 'PLASTICS'],
            batches.map(({ acknowledgedAt, batchId, plasticCount, takenAt }) => [
              batchId,
              takenAt,
              acknowledgedAt ?? '–',
              plasticCount,
            ]),
          ),
        }
      }),
  },
  {
    words: 'bureau show',
    names: ['BATCH'],
    summary: 'shows a batch, and whether it was acknowledged',
    example: 'pinfold bureau show 0b6f1f5e-3c0e-4a55-9d36-2f5f0a9c7d11',
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const batch = await ask<Batch>('GET', batchPath(call))
        return { json: batch, text: sheet(batch) }
      }),
  },
  {
    words: 'bureau list',
    names: ['BATCH'],
    summary: 'lists the plastics of a batch',
    description: 'With --json, also the names and addresses that the bureau still needs.',
    options: cli.limitOption,
    example: 'pinfold bureau list 0b6f1f5e-3c0e-4a55-9d36-2f5f0a9c7d11 --json',
    run: (call) =>
      asAdministrator(call, async ({ readAll }) => {
        const path = `${batchPath(call)}/plastics`
        const plastics = await readAll<BatchPlastic>(path, cli.parseLimit(call))
        return {
          json: plastics,
          text: table(
            ['CARD', 'PLASTIC', 'FOR', 'PRODUCT', 'NUMBER', 'EXPIRY', 'STATUS'],
            plastics.map((plastic) => [
              plastic.publicToken,
              plastic.plasticNumber,
              plastic.reason,
              plastic.productId,
              plastic.maskedPan,
              plastic.expiryDate,
              plastic.deliveryStatus,
            ]),
          ),
        }
      }),
  },
  {
    words: 'bureau acknowledge',
    names: ['BATCH'],
    summary: 'confirms that the bureau has a whole batch',
    example: 'pinfold bureau acknowledge 0b6f1f5e-3c0e-4a55-9d36-2f5f0a9c7d11',
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        await ask('PUT', `${batchPath(call)}/acknowledgement`)
        const [batchId = ''] = call.names
        return { json: { batchId }, text: `Batch ${batchId} is acknowledged.` }
      }),
  },
  {
    words: 'bureau report',
    names: ['CARD', 'PLASTIC', 'STATUS'],
    namePointers: { '/deliveryStatus': 'STATUS' },
    summary: 'reports that a plastic was produced, shipped, delivered or returned',
    description: 'STATUS is Produced, Shipped, Delivered or Returned.',
    example: 'pinfold bureau report 4820117360 1 Shipped',
    run: (call) => {
      const { plasticNumber, publicToken } = parsePlastic(call)
      const [, , deliveryStatus = ''] = call.names
      return asAdministrator(call, async ({ ask }) => {
        const path = `/bureau/plastics/${publicToken}/${plasticNumber}/status`
        await ask('POST', path, { deliveryStatus })
        const text = `Plastic ${plasticNumber} of card ${publicToken} is ${deliveryStatus}.`
        return { json: { publicToken, plasticNumber, deliveryStatus }, text }
      })
    },
  },
]

/** Deliveries of a sandbox, which its clients play. */
export const plasticCommands: readonly cli.Command[] = (
  [
    ['ship', 'shipped'],
    ['deliver', 'delivered'],
    ['return', 'returned'],
  ] as const
).map(
  ([act, done]): cli.Command => ({
    words: `plastics ${act}`,
    names: ['CARD', 'PLASTIC'],
    summary: `plays that a plastic is ${done}, in the sandbox`,
    connection: cli.clientConnection,
    example: `pinfold plastics ${act} 4820117360 0`,
    run: (call) => {
      const { plasticNumber, publicToken } = parsePlastic(call)
      return asClient(call, async ({ ask, base }) => {
        await ask('POST', `${base}/sandbox/plastics/${publicToken}/${plasticNumber}/${act}`)
        const text = `Plastic ${plasticNumber} of card ${publicToken} is ${done}.`
        return { json: { publicToken, plasticNumber }, text }
      })
    },
  }),
)

function parsePlastic(call: cli.Call) {
  const [, plasticNumber = ''] = call.names
  if (!/^[0-9]{1,2}$/.test(plasticNumber)) {
    throw new cli.UsageError('PLASTIC must be a number from 0 to 99.')
  }
  return { publicToken: parseToken(call), plasticNumber: Number(plasticNumber) }
}

const batchPath = ({ names: [batchId = ''] }: cli.Call): string =>
  `/bureau/batches/${encodeURIComponent(batchId)}`
