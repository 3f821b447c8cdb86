import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { devServer, overviewAtRoot } from './build/dev-server.ts'
import { leanContract } from './build/lean-contract.ts'

export default defineConfig({
  base: '/console/',
  plugins: [leanContract(), overviewAtRoot(), react()],
  server: devServer,
  html: { cspNonce: '%NONCE%' },
  build: {
    manifest: true,
    target: 'es2023',
    // Data addresses are not allowed by the policy of the page.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1000,
  },
})
