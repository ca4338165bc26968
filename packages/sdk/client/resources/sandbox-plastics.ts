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

export function sandboxPlastics({ post }: Calls): SandboxPlastics {
  const play =
    (act: keyof SandboxPlastics): SandboxPlastics['ship'] =>
    async (publicToken, plasticNumber, options) => {
      const address = path`/sandbox/plastics/${publicToken}/${String(plasticNumber)}/${act}`
      await post<'shipPlastic'>(address, {}, options)
    }
  return { ship: play('ship'), deliver: play('deliver'), return: play('return') }
}
