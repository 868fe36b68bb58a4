<?php

/** Another name of ApnsPHP_Log_Silent. */
class ApnsPHP_Log_Hidden extends ApnsPHP_Log_Silent
{
}
