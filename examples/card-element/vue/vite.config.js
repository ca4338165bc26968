import vue from '@vitejs/plugin-vue'

// Vue leaves elements of this name to the browser.
const isCustomElement = (tag) => tag === 'pinfold-card'

export default { plugins: [vue({ template: { compilerOptions: { isCustomElement } } })] }
