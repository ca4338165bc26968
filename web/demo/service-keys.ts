import { DeviceError, pinKeys, type ServiceKeys } from '../../sdk/device/device.ts'
import { metaOf } from './elements.ts'

/**
 * The keys that card data is checked with and PINs are sealed to. This page fetches them from the
 * service itself, never through the relay.
 *
 * A real application has them from its build: whoever serves the page could serve other keys with it.
 */
export async function fetchServiceKeys(): Promise<ServiceKeys> {
  const answer = await fetch(metaOf('keys'), {
    redirect: 'error',
    credentials: 'omit',
    cache: 'no-store',
    signal: AbortSignal.timeout(10_000),
  }).catch(() => {
    throw new DeviceError('keys_unavailable')
  })
  if (!answer.ok) throw new DeviceError('keys_unavailable')
  return pinKeys(metaOf('issuer'), await answer.json())
}
