@kubectl-upgrade.exe __complete %*
