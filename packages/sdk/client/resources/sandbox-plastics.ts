import type { Calls, ChangeOptions } from '../transport/calls.ts'
import { path } from '../transport/transport.ts'

/** Plastics of a sandbox, which no bureau makes. Each act passes the statuses before it. */
export interface SandboxPlastics {
  /** Scope `simulator.write`. */
  ship(publicToken: string, plasticNumber: number, options?: ChangeOptions): Promise<void>
  /** Scope `simulator.write`. */
  deliver(publicToken: string, plasticNumber: number, options?: ChangeOptions): Promise<void>
  /** Sends it back to the bureau. Scope `simulator.write`. */
  return(publicToken: string, plasticNumber: number, options?: ChangeOptions): Promise<void>
}

export const sandboxPlastics = ({ post }: Calls): SandboxPlastics => ({
  async ship(publicToken, plasticNumber, options) {
    const address = path`/sandbox/plastics/${publicToken}/${String(plasticNumber)}/ship`
    await post<'shipPlastic'>(address, {}, options)
  },
  async deliver(publicToken, plasticNumber, options) {
    const address = path`/sandbox/plastics/${publicToken}/${String(plasticNumber)}/deliver`
    await post<'deliverPlastic'>(address, {}, options)
  },
  async return(publicToken, plasticNumber, options) {
    const address = path`/sandbox/plastics/${publicToken}/${String(plasticNumber)}/return`
    await post<'returnPlastic'>(address, {}, options)
  },
})
