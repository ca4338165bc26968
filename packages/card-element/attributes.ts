import type { ServiceKeys } from '../sdk/device/device.ts'

/** The state of the element. No event contains more than this. */
export type CardState =
  | 'asking'
  | 'shown'
  | 'masked'
  | 'failed'
  | 'setting-pin'
  | 'pin-set'
  | 'pin-failed'

/**
 * The attributes of `<pinfold-card>`, its property `service` and the handler of its event, for the
 * JSX of a framework. The README describes each.
 */
export interface PinfoldCardAttributes {
  readonly 'public-token'?: string
  readonly 'relay-url'?: string
  readonly 'set-pin-url'?: string
  readonly 'pin-length'?: number | string
  readonly issuer?: string
  readonly 'issuer-name'?: string
  readonly 'scheme-name'?: string
  readonly 'emboss-name'?: string
  readonly 'masked-pan'?: string
  readonly 'include-pin'?: boolean
  readonly 'reveal-seconds'?: number | string
  readonly lang?: string
  readonly service?: ServiceKeys | null
  readonly 'onpinfold-state'?: (event: CustomEvent<{ readonly state: CardState }>) => void
}
