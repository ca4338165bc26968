/**
 * Who may import whom, as ARCHITECTURE.md draws it. A room is a folder of `src` or a file beside them;
 * `room/file.ts` opens that file alone, `type room/file.ts` the types in it. What is not here is
 * forbidden. Within a room anything goes.
 */
export const arrows: Record<string, readonly string[]> = {
  main: ['config', 'service'],
  service: ['everything'],
  cli: [
    'config',
    'service',
    'domain',
    'errors',
    'storage/data-directory.ts',
    'type sandbox/sandbox-file.ts',
  ],
  config: ['domain', 'errors'],

  api: [
    'http',
    'oauth',
    'issuing',
    'authorizing',
    'idempotency',
    'domain',
    'errors',
    'type storage/database.ts',
  ],
  'private-api': [
    'http',
    'oauth',
    'administration',
    'issuing',
    'authorizing',
    'key-management',
    'idempotency',
    'domain',
    'errors',
    'type storage/database.ts',
  ],
  http: ['oauth', 'idempotency', 'domain', 'errors'],
  oauth: ['storage', 'domain', 'errors'],
  sandbox: ['issuing', 'authorizing', 'idempotency', 'storage', 'domain', 'errors', 'hsm/hsm.ts'],

  issuing: ['idempotency', 'storage', 'domain', 'errors', 'hsm/hsm.ts'],
  authorizing: ['idempotency', 'storage', 'domain', 'errors', 'hsm/hsm.ts'],
  administration: ['idempotency', 'oauth', 'storage', 'domain', 'errors', 'hsm/hsm.ts'],
  'key-management': [
    'idempotency',
    'storage',
    'domain',
    'errors',
    'hsm/hsm.ts',
    'hsm/key-administration.ts',
  ],
  idempotency: ['storage', 'errors', 'hsm/hsm.ts'],
  delivery: ['outbound', 'storage', 'domain', 'errors'],

  storage: ['domain', 'errors'],
  hsm: ['crypto', 'domain', 'errors'],
  domain: ['errors'],
  outbound: ['domain'],
  crypto: [],
  errors: [],

  web: ['sdk/device'],
  'sdk/client': ['type sdk/webhooks/event.ts'],
  'sdk/device': [],
  'sdk/webhooks': [],
}

/**
 * Rooms that take nothing from a package or from Node but these: `domain` has no input or output, and
 * the SDK runs where Node is not.
 */
const outsideOfPureRooms: Record<string, readonly string[]> = {
  domain: ['node:util', 'i18n-iso-countries'],
  'sdk/client': ['jose'],
  'sdk/device': ['jose'],
  'sdk/webhooks': [],
}

/**
 * `src/api/routes/x.ts` is in `api`, `src/main.ts` is `main`, `web/x.ts` is in `web`, `sdk/device/x.ts`
 * in `sdk/device`.
 */
export const roomOf = (path: string): string => {
  const [top = '', second = '', third] = path.split('/')
  if (top === 'sdk' && third !== undefined) return `sdk/${second}`
  return top === 'src' ? second.replace(/\.ts$/, '') : top
}

/** Why `from` may not import `to`, both paths from the project's root; nothing if it may. */
export const forbiddenArrow = (from: string, to: string, typeOnly: boolean): string | undefined => {
  const fromRoom = roomOf(from)
  const toRoom = roomOf(to)
  const allowed = arrows[fromRoom] ?? []
  if (fromRoom === toRoom || allowed.includes('everything')) return undefined
  if (!to.startsWith('src/') && !arrows[toRoom]) return `${fromRoom} may not leave the house`
  const file = to.replace(/^src\//, '')
  if (allowed.includes(toRoom) || allowed.includes(file)) return undefined
  if (allowed.includes(`type ${file}`)) {
    return typeOnly ? undefined : `${fromRoom} may import only types of ${file}`
  }
  const openFile = allowed.find((entry) => entry.startsWith(`${toRoom}/`))
  return openFile
    ? `${fromRoom} may import only ${openFile} of ${toRoom}`
    : `${fromRoom} may not import ${toRoom}`
}

/** Why a room may not import a package or a module of Node; nothing if it may. */
export const forbiddenPackage = (from: string, specifier: string): string | undefined => {
  const allowed = outsideOfPureRooms[roomOf(from)]
  const isAllowed = (name: string): boolean =>
    specifier === name || specifier.startsWith(`${name}/`)
  if (!allowed || allowed.some(isAllowed)) return undefined
  return `${roomOf(from)} is pure and may import only ${allowed.join(', ') || 'nothing from outside'}`
}
