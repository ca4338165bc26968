import { holdForms } from './held-forms.ts'
import { openKeys } from './keys.ts'
import { LiveRegion } from './live-region.ts'
import { openClockSwitch, showLocalTimes } from './local-time.ts'

customElements.define('live-region', LiveRegion)
showLocalTimes(document)
openClockSwitch()
openKeys()
holdForms()
