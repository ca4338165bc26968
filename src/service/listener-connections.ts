import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { NetworkConfig } from '../config/network.ts'
import type { CallerAddresses } from '../http/caller-address.ts'
import { type Connections, createConnections } from '../http/connections.ts'
import type { Listener } from '../oauth/scopes.ts'

/** How often the log tells of connections that are refused: a flood of them is one line a minute. */
const tellEveryMs = 60_000

/** The connections of both listeners, each with bounds of its own, counted for the operator. */
export function createListenerConnections(
  { connectionsMax, connectionsPerAddressMax }: NetworkConfig,
  callers: CallerAddresses,
  registry: Registry,
  log: Logger,
): Readonly<Record<Listener, Connections>> {
  const refusals = new Counter({
    name: 'pinfold_connections_refused_total',
    help: 'Connections closed at once, because the listener (all) or their address had too many.',
    labelNames: ['listener', 'reason'],
    registers: [registry],
  })
  const create = (listener: Listener): Connections => {
    let toldAtMs = Number.NEGATIVE_INFINITY
    return createConnections({
      most: connectionsMax,
      mostPerAddress: connectionsPerAddressMax,
      callers,
      onRefused(reason) {
        refusals.inc({ listener, reason })
        if (performance.now() - toldAtMs < tellEveryMs) return
        toldAtMs = performance.now()
        log.warn({ listener, reason }, 'connections are refused: there are too many')
      },
    })
  }
  const connections = { public: create('public'), private: create('private') }
  new Gauge({
    name: 'pinfold_connections',
    help: 'Open connections of a listener.',
    labelNames: ['listener'],
    registers: [registry],
    collect() {
      for (const listener of ['public', 'private'] as const) {
        this.set({ listener }, connections[listener].count())
      }
    },
  })
  return connections
}
