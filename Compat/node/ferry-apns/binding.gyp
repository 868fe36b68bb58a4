{
  "targets": [
    {
      "target_name": "ferry",
      "sources": ["addon.c"],
      "cflags": ["-std=c99", "-Wall", "-Wextra", "-fvisibility=hidden"]
    }
  ]
}
