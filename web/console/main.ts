import { openKeys } from './keys.ts'
import { LiveRegion } from './live-region.ts'
import { showLocalTimes } from './local-time.ts'

customElements.define('live-region', LiveRegion)
showLocalTimes(document)
openKeys()
