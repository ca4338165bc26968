/**
 * The permitted imports, types included. A room is a folder of `src`, or the file `main.ts`; a
 * folder of a room that is listed here is a separate room. `storage` as a target permits the whole
 * floor, `storage/engine` that room, `room/file.ts` that file alone. All other imports are
 * forbidden, except within a room. ARCHITECTURE.md shows this table: `npm run generate`.
 */
export const arrows = {
  main: ['service', 'service/config'],
  cli: [
    'service',
    'service/config',
    'service/doctor',
    'domain',
    'listeners/iso8583',
    'sandbox/sandbox-file.ts',
    'storage/engine/data-directory.ts',
    'witness',
    'packages',
  ],
  service: ['everything'],
  'service/config': ['domain', 'storage/engine/database-url.ts'],
  'service/doctor': ['everything'],

  // A call that executes an approval checks that the approved request is unchanged.
  'listeners/http': ['listeners/oauth', 'operations/approvals', 'operations/idempotency', 'domain'],
  'listeners/oauth': ['operations/clients', 'domain'],
  'listeners/public': ['listeners/http', 'listeners/oauth', 'operations', 'domain'],
  'listeners/private': [
    'listeners/http',
    'listeners/oauth',
    'listeners/private/schemas',
    'operations',
    'packages/audit',
    'domain',
  ],
  'listeners/private/schemas': ['listeners/http', 'operations/keys', 'domain'],
  'listeners/iso8583': ['listeners/iso8583/codec', 'listeners/http', 'operations', 'domain'],
  'listeners/iso8583/codec': ['domain'],
  console: [
    'listeners/http',
    'listeners/oauth',
    'listeners/private/schemas',
    'operations/people',
    'packages/audit',
    'domain',
  ],
  documents: ['listeners/http', 'domain'],
  sandbox: ['operations', 'storage', 'hsm/contract', 'domain'],

  'operations/idempotency': ['storage', 'hsm/contract', 'domain'],
  'operations/acts': ['storage', 'domain'],
  'operations/audit-log': [
    'operations/idempotency',
    'storage',
    'hsm/contract',
    'packages/audit',
    'domain',
  ],
  'operations/approvals': [
    'operations/idempotency',
    'storage',
    'hsm/contract',
    'packages/audit',
    'domain',
  ],
  'operations/cards': ['operations/idempotency', 'storage', 'hsm/contract', 'domain'],
  'operations/bureau': [
    'operations/acts',
    'operations/cards',
    'operations/idempotency',
    'storage',
    'hsm/contract',
    'domain',
  ],
  'operations/renewals': [
    'operations/cards',
    'operations/idempotency',
    'storage',
    'hsm/contract',
    'domain',
  ],
  'operations/card-data': ['operations/cards', 'storage', 'hsm/contract', 'domain'],
  'operations/chips': [
    'operations/cards',
    'operations/idempotency',
    'storage',
    'hsm/contract',
    'domain',
  ],
  'operations/authorizations': [
    'operations/cards',
    'operations/chips',
    'operations/idempotency',
    'storage',
    'hsm/contract',
    'domain',
  ],
  'operations/decisions': [
    'operations/acts',
    'operations/authorizations',
    'operations/cards',
    'operations/events',
    'operations/idempotency',
    'storage',
    'hsm/contract',
    'outbound',
    'domain',
  ],
  'operations/events': ['operations/cards', 'storage', 'hsm/contract', 'domain'],
  'operations/webhooks': [
    'operations/cards',
    'operations/events',
    'operations/idempotency',
    'storage',
    'hsm/contract',
    'outbound',
    'domain',
  ],
  'operations/clients': [
    'operations/acts',
    'operations/idempotency',
    'storage',
    'hsm/contract',
    'domain',
  ],
  'operations/products': [
    'operations/acts',
    'operations/idempotency',
    'storage',
    'hsm/contract',
    'domain',
  ],
  'operations/links': [
    'operations/acts',
    'operations/authorizations',
    'operations/idempotency',
    'operations/keys',
    'operations/payments',
    'storage',
    'hsm/contract',
    'domain',
  ],
  'operations/payments': [
    'operations/authorizations',
    'operations/chips',
    'operations/idempotency',
    'storage',
    'hsm/contract',
    'domain',
  ],
  'operations/people': ['operations/acts', 'storage', 'domain'],
  'operations/keys': [
    'operations/acts',
    'operations/idempotency',
    'storage',
    'hsm/contract',
    'domain',
  ],

  'storage/engine': ['domain'],
  'storage/acts': ['storage/engine', 'domain'],
  'storage/audit-log': ['storage/engine', 'domain'],
  'storage/approvals': ['storage/engine', 'domain'],
  // A key is claimed in the transaction that its network begins.
  'storage/idempotency': ['storage/engine', 'storage/links', 'domain'],
  'storage/events': ['storage/engine', 'domain'],
  // A change of a card, its event and the claim of its idempotency key are one statement.
  'storage/authorizations': ['storage/engine', 'storage/idempotency', 'storage/links', 'domain'],
  'storage/cards': [
    'storage/authorizations',
    'storage/engine',
    'storage/events',
    'storage/idempotency',
    'storage/links',
    'domain',
  ],
  'storage/bureau': [
    'storage/cards',
    'storage/engine',
    'storage/events',
    'storage/idempotency',
    'domain',
  ],
  'storage/renewals': ['storage/engine', 'domain'],
  'storage/chips': [
    'storage/authorizations',
    'storage/cards',
    'storage/engine',
    'storage/events',
    'storage/idempotency',
    'domain',
  ],
  'storage/decisions': [
    'storage/authorizations',
    'storage/engine',
    'storage/idempotency',
    'storage/links',
    'domain',
  ],
  'storage/card-data': ['storage/engine', 'domain'],
  'storage/clients': ['storage/engine', 'domain'],
  'storage/products': ['storage/engine', 'domain'],
  'storage/webhooks': ['storage/engine', 'storage/clients', 'storage/events', 'domain'],
  'storage/links': ['storage/engine', 'domain'],
  'storage/payments': ['storage/engine', 'domain'],
  'storage/people': ['storage/engine', 'domain'],
  'storage/keys': ['storage/engine', 'storage/clients', 'domain'],
  'storage/sandbox': ['storage/engine', 'domain'],

  // The content of a checkpoint's signature is defined once, for signer and verifier.
  'hsm/contract': ['packages/audit', 'domain'],
  'hsm/keys': ['hsm/contract', 'crypto', 'domain'],
  'hsm/verbs': ['hsm/contract', 'hsm/keys', 'packages/audit', 'crypto', 'domain'],
  'hsm/software': ['hsm/contract', 'hsm/keys', 'hsm/verbs', 'crypto', 'domain'],
  'hsm/pkcs11': ['hsm/contract', 'hsm/keys', 'hsm/verbs', 'crypto', 'domain'],

  // It runs without the service and its database.
  witness: ['storage/audit-log/checkpoint-file.ts', 'packages/audit', 'domain'],

  outbound: ['domain'],
  crypto: [],
  domain: [],

  // The pages that the service serves, and their server.
  web: ['packages'],
  // A client of the service, which the sandbox serves for convenience; its relay also runs
  // separately.
  'examples/demo': ['web', 'packages'],
  'packages/audit': [],
  'packages/sdk/admin': ['packages/sdk/client'],
  'packages/sdk/client': [
    'packages/audit',
    'packages/sdk/webhooks/event.ts',
    'packages/sdk/webhooks/decision.ts',
  ],
  'packages/sdk/device': [],
  'packages/sdk/webhooks': [],
  'packages/card-element': ['packages/sdk/device'],
} as const satisfies Record<string, readonly string[]>

const allowedByRoom: Readonly<Record<string, readonly string[]>> = arrows

/**
 * The only packages and modules of Node that pure rooms may import: `domain` and the codec have no
 * input or output, and the SDK runs without Node.
 */
const outsidePureRooms: Readonly<Record<string, readonly string[]>> = {
  domain: ['node:util', 'node:crypto'],
  'listeners/iso8583/codec': [],
  'packages/audit': ['@noble/hashes'],
  'packages/sdk/admin': [],
  'packages/sdk/client': ['jose'],
  'packages/sdk/device': ['jose'],
  'packages/sdk/webhooks': [],
  'packages/card-element': [],
}

/** Returns the room of a file: the innermost in the table, otherwise its topmost folder. */
export const findRoom = (path: string): string => {
  const inside = path.replace(/^src\//, '').replace(/\.ts$/, '')
  const [first = '', ...within] = inside.split('/')
  const rooms = [2, 1].map((depth) => [first, ...within.slice(0, depth)].join('/'))
  return rooms.find((room) => room in arrows) ?? first
}

/**
 * Returns the reason why `from` may not import `to`, both paths from the project's root; undefined
 * if it may.
 */
export const forbiddenArrow = (from: string, to: string): string | undefined => {
  const fromRoom = findRoom(from)
  const toRoom = findRoom(to)
  const allowed = allowedByRoom[fromRoom] ?? []
  if (fromRoom === toRoom || allowed.includes('everything')) return undefined
  if (!to.startsWith('src/') && !(toRoom in arrows)) return `${fromRoom} may not leave the house`
  const file = to.replace(/^src\//, '')
  const floor = toRoom.split('/')[0] ?? toRoom
  if ([file, toRoom, floor].some((target) => allowed.includes(target))) return undefined
  const openFile = allowed.find((entry) => entry.startsWith(`${toRoom}/`))
  return openFile
    ? `${fromRoom} may import only ${openFile} of ${toRoom}`
    : `${fromRoom} may not import ${toRoom}`
}

/**
 * Returns the reason why a room may not import a package or a module of Node; undefined if it may.
 */
export const forbiddenPackage = (from: string, specifier: string): string | undefined => {
  const allowed = outsidePureRooms[findRoom(from)]
  const isAllowed = (name: string): boolean =>
    specifier === name || specifier.startsWith(`${name}/`)
  if (!allowed || allowed.some(isAllowed)) return undefined
  const list = allowed.join(', ') || 'nothing from outside'
  return `${findRoom(from)} is pure and may import only ${list}`
}

/** Composes the table in ARCHITECTURE.md, one line per room. */
export const drawArrows = (): string =>
  Object.entries(allowedByRoom)
    .map(([room, targets]) => `${room.padEnd(25)} ─► ${targets.join(', ') || 'nothing'}`)
    .join('\n')
