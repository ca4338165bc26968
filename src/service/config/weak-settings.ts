import { type ApprovalConfig, approvalsLeftOut } from './approvals.ts'
import { readDelivery } from './delivery.ts'
import { type Limits, readLimits } from './limits.ts'
import { refusals } from './production.ts'
import type { Configured } from './refusals.ts'
import { VariableReader } from './variables.ts'

/** A setting that is weaker than its default, or than production requires. */
export interface WeakSetting {
  readonly variable: string
  /** The finding, after the variable: `is off`. */
  readonly found: string
}

interface Settings extends Configured {
  readonly sandbox: boolean
  readonly limits: Limits | null
  readonly approvals: ApprovalConfig
  readonly delivery: Configured['delivery'] & ReturnType<typeof readDelivery>
}

/** Bounds beyond which a setting allows more, or retains less, than the default. */
const bounds: readonly {
  readonly variable: string
  readonly weaker: 'more' | 'less'
  readonly selectNumber: (settings: Pick<Settings, 'limits' | 'delivery'>) => number | undefined
}[] = [
  {
    variable: 'REVEALS_PER_CARD_HOUR',
    weaker: 'more',
    selectNumber: ({ limits }) => limits?.revealsPerCardHour,
  },
  {
    variable: 'REVEALS_PER_CLIENT_HOUR',
    weaker: 'more',
    selectNumber: ({ limits }) => limits?.revealsPerClientHour,
  },
  {
    variable: 'BAD_SESSION_KEYS_PER_CARD_HOUR',
    weaker: 'more',
    selectNumber: ({ limits }) => limits?.badKeysPerCardHour,
  },
  {
    variable: 'BAD_SESSION_KEYS_PER_CLIENT_HOUR',
    weaker: 'more',
    selectNumber: ({ limits }) => limits?.badKeysPerClientHour,
  },
  {
    variable: 'UNBLOCKS_PER_CARD_DAY',
    weaker: 'more',
    selectNumber: ({ limits }) => limits?.unblocksPerCardDay,
  },
  {
    variable: 'PAN_SEARCHES_PER_PERSON_HOUR',
    weaker: 'more',
    selectNumber: ({ limits }) => limits?.panSearchesPerPersonHour,
  },
  {
    variable: 'EVENT_RETENTION_DAYS',
    weaker: 'less',
    selectNumber: ({ delivery }) => delivery.retention.eventDays,
  },
  {
    variable: 'ATTEMPT_RETENTION_DAYS',
    weaker: 'less',
    selectNumber: ({ delivery }) => delivery.retention.attemptDays,
  },
  {
    variable: 'PAYMENT_RETENTION_DAYS',
    weaker: 'less',
    selectNumber: ({ delivery }) => delivery.retention.paymentDays,
  },
]

/** Lists all settings that weaken this configuration, whether or not production would start. */
export function findWeakSettings(settings: Settings, read: VariableReader): WeakSetting[] {
  const untouched = new VariableReader({})
  const standard = { limits: readLimits(untouched), delivery: readDelivery(untouched) }
  const beyond = bounds.flatMap(({ selectNumber, variable, weaker }) => {
    const value = selectNumber(settings)
    const usual = selectNumber(standard)
    if (value === undefined || usual === undefined || value === usual) return []
    return value > usual === (weaker === 'more') ? [{ variable, found: `is ${value}` }] : []
  })
  // A missing setting does not weaken a sandbox, which creates its own; production does not start
  // without it.
  const found = refusals
    .filter(({ refused }) => refused !== 'is not set')
    .flatMap(({ find, variable }) => {
      const fault = find(settings, read)
      return fault === null ? [] : [{ variable, found: fault }]
    })
  const { takesFirstAdministrators } = settings.approvals
  const unapproved = approvalsLeftOut(settings, read)
  return [
    ...(settings.sandbox ? [{ variable: 'SANDBOX', found: 'is yes' }] : []),
    ...found,
    ...beyond,
    ...(takesFirstAdministrators && !settings.sandbox
      ? [{ variable: 'APPROVALS_FIRST_ADMINISTRATORS', found: 'is ask' }]
      : []),
    ...(unapproved.length > 0
      ? [{ variable: 'APPROVALS', found: `leaves out ${unapproved.join(', ')}` }]
      : []),
  ]
}
