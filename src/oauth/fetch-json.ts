const timeoutMs = 5_000
const lengthLimitBytes = 256 * 1_024

/**
 * A JSON document from an address: 200 and no redirect, within 5 s and 256 KiB.
 * @throws Error
 */
export async function fetchJson(
  fetch: typeof globalThis.fetch,
  address: URL | string,
): Promise<unknown> {
  const response = await fetch(address, {
    headers: { accept: 'application/json, application/jwk-set+json' },
    redirect: 'manual',
    signal: AbortSignal.timeout(timeoutMs),
  })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`${address} answered ${response.status}`)
  }
  return JSON.parse(await readText(response, address))
}

async function readText(response: Response, address: URL | string): Promise<string> {
  const chunks: Uint8Array[] = []
  let lengthBytes = 0
  for await (const chunk of response.body ?? []) {
    lengthBytes += chunk.length
    if (lengthBytes > lengthLimitBytes) throw new Error(`${address} answered too much`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
