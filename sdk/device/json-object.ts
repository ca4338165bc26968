export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a value is an object with members. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The object in a JSON text of UTF-8, or null. */
export function parseJsonObject(bytes: Uint8Array): JsonObject | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return isJsonObject(value) ? value : null
  } catch {
    return null
  }
}
