import { openKeys } from '../console/keys.ts'
import { addCopyButtons } from './copy.ts'

addCopyButtons()
openKeys()
