import { Cvv2 } from '../../../src/domain/cvv2.ts'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import { Secret } from '../../../src/domain/secret.ts'
import { toTransaction } from '../../../src/domain/transaction.ts'
import type {
  Authorization,
  AuthorizationContext,
} from '../../../src/operations/authorizations/authorization.ts'
import { authorize } from '../../../src/operations/authorizations/authorize.ts'
import type { Answer } from '../../../src/operations/idempotency/idempotency.ts'
import { readConfig } from '../../../src/service/config/config.ts'
import { createLog } from '../../../src/service/log.ts'
import { createService } from '../../../src/service/service.ts'
import { undivided } from '../../../src/storage/engine/database.ts'
import { openPostgres } from '../../../src/storage/engine/postgres.ts'

/** A process of the service that authorizes what its parent sends, until it is killed. */

/** A purchase, as it can be sent to another process. */
export type SentPurchase = {
  key: string
  reference: string
  networkId: string
  publicToken: PublicToken
  amount: number
  /** Null: it spends no try. */
  cvv2: string | null
  /** Field 55 in hexadecimal digits; absent without a chip. */
  chip?: string
}

export type PurchaseAnswered = { key: string; answer: Answer<Authorization> }

export const authorizePurchase = (
  context: AuthorizationContext,
  { amount, chip, cvv2, key, networkId, publicToken, reference }: SentPurchase,
): Promise<Answer<Authorization>> =>
  authorize(
    context,
    {
      networkId,
      requestId: key,
      card: { publicToken },
      entryMode: chip === undefined ? 'ecommerce' : 'chip',
      cardRead: chip === undefined ? 'none' : 'chip',
      reference,
      transaction: toTransaction({ amount, currency: 'EUR' }),
      ...(chip !== undefined && { chip: { data: Buffer.from(chip, 'hex') } }),
      ...(cvv2 !== null && { cvv2: new Cvv2(cvv2) }),
    },
    { clientId: networkId, idempotencyKey: key, request: new Secret(reference), bearsSecret: true },
  )

const { DATA_DIR, DATABASE_URL } = process.env

if (process.send && DATA_DIR !== undefined && DATABASE_URL !== undefined) {
  const config = readConfig({ SANDBOX: 'true', DATA_DIR, LOG_LEVEL: 'silent', LINK_PORT: '0' })
  const pool = { connectionString: DATABASE_URL, poolSize: 4, onIdleError: () => undefined }
  const database = openPostgres(pool)
  const { authorizing } = await createService(config, undivided(database), createLog('silent'))
  process.on('message', (purchase: SentPurchase) => {
    authorizePurchase(authorizing, purchase).then(
      (answer) => process.send?.({ key: purchase.key, answer } satisfies PurchaseAnswered),
      () => undefined,
    )
  })
  process.send('ready')
}
