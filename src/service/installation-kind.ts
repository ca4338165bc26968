import type { Config } from '../config.ts'
import { StartRefusal } from '../errors.ts'
import type { Installation } from '../storage/installation.ts'

/** What this program runs as. */
export const kindOf = ({ sandbox }: Config): Installation['kind'] =>
  sandbox ? 'sandbox' : 'production'

/** @throws `StartRefusal` when a database belongs to an installation of another kind. */
export function refuseOtherKind(config: Config, remembered: Installation['kind']): void {
  const ours = kindOf(config)
  if (remembered === ours) return
  throw new StartRefusal(`This database is a ${remembered}'s, and this program runs as ${ours}.`)
}
