import { StartRefusal } from '../../domain/problem.ts'

/** The session that a server must provide, in libpq's terms. */
const sessionAttributes = ['any', 'read-write', 'primary'] as const
type SessionAttributes = (typeof sessionAttributes)[number]

/** The servers that may have the database, and the required session. */
export interface DatabaseServers {
  /** The address of each server in the form of the driver, in the order of the attempts. */
  readonly addresses: readonly [string, ...string[]]
  readonly sessions: SessionAttributes
}

/** Scheme with user and password, hosts, and the rest. */
const parts = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/i
/** The driver also accepts the folder of a socket. */
const socket = /^(?:\/|socket:)/i
const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'] as const
const oneHost = /^(?:\[[0-9a-f:.%]+\]|[^\s,:[\]]+)(?::(?<port>[0-9]{1,5}))?$/i

/**
 * Parses the address of a database. The driver supports one host and no `target_session_attrs`;
 * libpq supports both (PostgreSQL manual, 34.1.1.3 and 34.1.2), and the supported parts have its
 * meaning.
 * @throws `StartRefusal` with the fault, but without the address, which may contain a password.
 */
export function parseDatabaseUrl(url: string): DatabaseServers {
  const query = new URLSearchParams(/\?([^#]*)/.exec(url)?.[1])
  const sessions = parseSessions(query)
  const [, before = '', hosts = '', after = ''] = parts.exec(url) ?? []
  const isWritten = /^postgres(?:ql)?:/i.test(before) || !hosts.includes(',')
  if (!isWritten || query.get('host')?.includes(',')) {
    refuse('must name several hosts as postgresql://USER@HOST:PORT,HOST:PORT/NAME')
  }
  refuseUnreadable(url, query, hosts)
  if (!hosts.includes(',')) return { addresses: [withFullMode(url, query)], sessions }
  for (const name of ['host', 'hostaddr', 'port']) {
    if (query.has(name)) refuse(`names several hosts, but also ${name}`)
  }
  if (sessions === 'any') {
    refuse(
      'names several hosts: add target_session_attrs=read-write, so that the writable one is used',
    )
  }
  if ((query.get('load_balance_hosts') ?? 'disable') !== 'disable') {
    refuse('must not have load_balance_hosts other than disable: only one of the hosts is writable')
  }
  const [first = '', ...others] = hosts.split(',').map((host, at) => {
    const address = withFullMode(`${before}${host}${after}`, query)
    const port = Number(oneHost.exec(host)?.groups?.port ?? 5_432)
    const isHost = oneHost.test(host) && port > 0 && URL.canParse(address)
    return isHost ? address : refuse(`names several hosts, but number ${at + 1} is not HOST:PORT`)
  })
  return { addresses: [first, ...others], sessions }
}

/**
 * Rejects parts that the driver would read as another address or host: of a key and value, it uses
 * the name `base`.
 */
function refuseUnreadable(url: string, query: URLSearchParams, hosts: string): void {
  if (socket.test(url)) return
  // The driver accepts an address without a host; several hosts are checked one by one.
  const isReadable = URL.canParse(url) || URL.canParse(url.replace('@/', '@host/'))
  if (!/^postgres(?:ql)?:\/\//i.test(url) || (!hosts.includes(',') && !isReadable)) {
    refuse(
      'must be postgresql://USER:PASSWORD@HOST:PORT/NAME, in which user, password and name ' +
        'have %40 for @, %2F for /, %3A for :, %3F for ?, %23 for # and %25 for %',
    )
  }
  const mode = query.get('sslmode')
  if (mode !== null && !sslModes.some((each) => each === mode)) {
    refuse(`must have an sslmode of ${sslModes.join(', ')}`)
  }
}

/**
 * The driver treats `prefer`, `require` and `verify-ca` as `verify-full`, and warns that a later
 * version will not: so the address states `verify-full`.
 */
const withFullMode = (address: string, query: URLSearchParams): string =>
  query.get('uselibpqcompat') === 'true'
    ? address
    : address.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=[&#]|$)/, '$1verify-full')

function parseSessions(query: URLSearchParams): SessionAttributes {
  const [asked = 'any', ...others] = query.getAll('target_session_attrs')
  const sessions = sessionAttributes.find((each) => each === asked)
  if (sessions && others.length === 0) return sessions
  return refuse(
    `must have one target_session_attrs, of ${sessionAttributes.join(', ')}: the service needs ` +
      'a writable server',
  )
}

function refuse(fault: string): never {
  throw new StartRefusal(`DATABASE_URL ${fault}.`)
}
