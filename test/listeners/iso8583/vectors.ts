import { readFileSync } from 'node:fs'
import type { FieldLayout, Layout } from '../../../src/listeners/iso8583/codec/layout.ts'

/**
 * Messages, frames, refusals and MACs of three independent libraries, with their layouts as data.
 */
interface Iso8583Vectors {
  readonly layouts: Readonly<Record<string, Layout>>
  readonly messages: readonly {
    readonly id: string
    readonly layout: string
    readonly hex: string
    readonly mti: string
    readonly bitmap: string
    readonly header?: string
    readonly fields: Readonly<Record<string, string>>
    readonly tlv?: Readonly<Record<string, Readonly<Record<string, string>>>>
    readonly sub?: Readonly<
      Record<string, { readonly header?: string; readonly fields: Record<string, string> }>
    >
    readonly frame?: string
    readonly framing?: string
    readonly tpdu?: string
  }[]
  readonly frames: readonly {
    readonly id: string
    readonly framing: string
    readonly hex: string
    readonly length: number
    readonly sessionControl?: boolean
  }[]
  readonly headers: readonly {
    readonly id: string
    readonly hex: string
    readonly swapped: string
  }[]
  readonly refusals: readonly {
    readonly id: string
    readonly layout: string
    readonly hex: string
    readonly why: string
  }[]
  readonly macs: readonly {
    readonly id: string
    readonly algorithm: string
    readonly key: string
    readonly data: string
    readonly mac: string
    readonly macWhole?: string
  }[]
}

const path = new URL('../../vectors/iso8583/messages.json', import.meta.url)

export const vectors = JSON.parse(readFileSync(path, 'utf8')) as Iso8583Vectors

export const vectorLayout = (name: string): Layout => {
  const layout = vectors.layouts[name]
  if (!layout) throw new Error(`There is no layout ${name}.`)
  return layout
}

/** A layout with another thing said of a field. */
export const withField = (
  layout: Layout,
  field: string,
  changes: Partial<FieldLayout>,
): Layout => ({
  ...layout,
  fields: { ...layout.fields, [field]: { ...(layout.fields[field] as FieldLayout), ...changes } },
})
